"""From a finding to a trace that people read: replay, explanation, walks."""

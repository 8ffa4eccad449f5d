"""Named bounds: how far to explore, and why. Separate from the rules; a module for each protocol.

A check is only as good as its bounds: two replicas hide the flaw of kip_279 completely, and kip_320_first_try needs three replicas
and epochs up to 2 to show its flaw. So there are several sets of bounds, and each states its purpose. The first set of a spec is
the default of a check.
"""

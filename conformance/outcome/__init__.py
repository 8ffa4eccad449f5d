"""What validations of logs of both worlds have in common: violations, their kinds and places, and JUnit XML."""

"""What controllers, brokers and clients say to each other, as data: names, requests, answers, errors, settings, log lines."""

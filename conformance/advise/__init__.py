"""May I do this? A planned action of an operator, searched by the model from the metadata of a real cluster on."""

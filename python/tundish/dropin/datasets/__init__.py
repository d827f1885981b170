"""Data sets of torchvision, timm and Hugging Face that the engine can read itself."""

"""Datasets of torchvision, timm and Hugging Face that the engine reads itself."""

"""Datasets of torchvision, timm and Hugging Face that the engine can read without their Python code."""

"""Does the doctor name the cause, does its prediction hold, and what does measuring cost?"""

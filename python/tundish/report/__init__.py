"""Charts and pages without a plotting library, and what a figure must carry."""

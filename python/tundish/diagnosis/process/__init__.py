"""Runs the user's command with the probe loaded into its Python processes."""

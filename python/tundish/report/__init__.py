"""SVG charts and HTML pages without a plotting library, and facts about the machine."""

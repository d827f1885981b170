"""`tundish boost`: finds changes that make an unmodified training script faster, and proves them.

`inject/` makes the changes inside the script's process. `trials/` runs the script with changes and
measures it. `search/` chooses what to try, and judges losses and gradients that the doctor's probe
recorded (diagnosis/probe/proof). `patch/` writes the changes as a diff of the script, `report/`
shows the result, and `cli/` has the verb.
"""

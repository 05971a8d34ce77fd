"""A recording of what the library does, to be made before and after a change and compared.

    python -m studies.behaviour record FOLDER [SUBJECT...]
    python -m studies.behaviour compare FOLDER_A FOLDER_B [numbers|words]
    python -m studies.behaviour digits FOLDER_A FOLDER_B
    python -m studies.behaviour list [SUBJECT...]

An item is one thing the library was asked, with all that came of it: numbers to the bit, printed
text, files, warnings, or the error; numbers and words stand apart. Its name tells what differs
where two recordings differ.

The library is the one that is imported. Sample files come from the folder of the project that it
belongs to, or from `BEHAVIOUR_ROOT`: where samples are to change, both recordings need the old.
"""

. @FILE@

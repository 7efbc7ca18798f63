call @FILE@

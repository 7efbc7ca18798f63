source @FILE@

@rem Made by envkit: while this environment is active its locked versions hold for uv too (UV_CONSTRAINT), and in a conda
@rem prefix Python does not look into the site-packages of the user (PYTHONNOUSERSITE). Rules and reasons:
@rem docs/activation.md in the sources of envkit. For cmd, by CALL: starts no program, writes nothing, ends with status 0,
@rem leaves nothing behind. No value of the user is ever expanded by percent signs.

@rem Undo (docs/activation.md, "The guard" and "Windows"; the same text stands in activate.bat and deactivate.bat): while
@rem UV_CONSTRAINT is what a hook made of it, the value of the user comes back. A value that the user changed meanwhile
@rem stays, without our entry: the first word equal to it goes.
@if not defined _ENVKIT_@SLOT@_GUARD goto :envkit_undo_guard
@if not defined UV_CONSTRAINT goto :envkit_undo_guard
@set "_envkit_same="
@setlocal EnableDelayedExpansion
@set "_envkit_list=!_ENVKIT_@SLOT@_GUARD!"
@if defined _ENVKIT_@SLOT@_GUARD_WAS set "_envkit_list=!_ENVKIT_@SLOT@_GUARD_WAS! !_envkit_list!"
@if "!UV_CONSTRAINT!"=="!_envkit_list!" set "_envkit_same=x"
@endlocal & set "_envkit_same=%_envkit_same%"
@if not defined _envkit_same goto :envkit_undo_word
@call :envkit_copy _ENVKIT_@SLOT@_GUARD_WAS UV_CONSTRAINT
@goto :envkit_undo_guard
:envkit_undo_word
@setlocal EnableDelayedExpansion
@set "_envkit_text=!_ENVKIT_@SLOT@_GUARD! "
@call :envkit_measure
@set "_envkit_size=%_envkit_n%"
@set "_envkit_list=!UV_CONSTRAINT! "
@set "_envkit_rest=!_envkit_list!"
:envkit_next
@if "!_envkit_rest:~0,%_envkit_size%!"=="!_ENVKIT_@SLOT@_GUARD! " goto :envkit_undo_found
@set "_envkit_rest=!_envkit_rest:* =!"
@if defined _envkit_rest goto :envkit_next
@endlocal & goto :envkit_undo_guard
:envkit_undo_found
@set "_envkit_text=!_envkit_list!"
@call :envkit_measure
@set "_envkit_at=%_envkit_n%"
@set "_envkit_text=!_envkit_rest!"
@call :envkit_measure
@set /a "_envkit_at-=_envkit_n"
@set "_envkit_list=!_envkit_list:~0,%_envkit_at%!!_envkit_rest:~%_envkit_size%!"
@if defined _envkit_list set "_envkit_list=!_envkit_list:~0,-1!"
@for /f "delims=" %%V in (""!_envkit_list!"") do @endlocal & @set "UV_CONSTRAINT=%%~V"
:envkit_undo_guard
@set "_envkit_same="
@set "_ENVKIT_@SLOT@_GUARD="
@set "_ENVKIT_@SLOT@_GUARD_WAS="
@rem PYTHONNOUSERSITE, where a hook has set it: the value of the user, unless he has changed it.
@if not defined _ENVKIT_@SLOT@_SITE goto :envkit_undo_site
@set "_envkit_same="
@setlocal EnableDelayedExpansion
@if "!PYTHONNOUSERSITE!"=="!_ENVKIT_@SLOT@_SITE!" set "_envkit_same=x"
@endlocal & set "_envkit_same=%_envkit_same%"
@if defined _envkit_same call :envkit_copy _ENVKIT_@SLOT@_SITE_WAS PYTHONNOUSERSITE
@set "_envkit_same="
:envkit_undo_site
@set "_ENVKIT_@SLOT@_SITE="
@set "_ENVKIT_@SLOT@_SITE_WAS="
@rem End of undo.

@rem Apply. Without the file uv would refuse everything, so a folder that has gone is left alone; the file is found from
@rem this one, since a name with more than ASCII would be read in the code page of the console.
@if @ENTRY@=="" goto :envkit_site
@if not exist "%~dp0..\..\..\.envkit\constraints.txt" goto :envkit_site
@call :envkit_copy UV_CONSTRAINT _ENVKIT_@SLOT@_GUARD_WAS
@for %%V in (@ENTRY@) do @set "_ENVKIT_@SLOT@_GUARD=%%~V"
@setlocal EnableDelayedExpansion
@set "_envkit_list=!_ENVKIT_@SLOT@_GUARD!"
@if defined UV_CONSTRAINT set "_envkit_list=!UV_CONSTRAINT! !_envkit_list!"
@for /f "delims=" %%V in (""!_envkit_list!"") do @endlocal & @set "UV_CONSTRAINT=%%~V"

@rem In a conda prefix: packages in the site-packages of the user would hide those of the environment.
:envkit_site
@if @USER_SITE_OFF@=="" exit /b 0
@call :envkit_copy PYTHONNOUSERSITE _ENVKIT_@SLOT@_SITE_WAS
@set "_ENVKIT_@SLOT@_SITE=1"
@set "PYTHONNOUSERSITE=1"
@exit /b 0

@rem Copy: the variable named second becomes what the first one holds, or unset. The one way out of delayed expansion that
@rem keeps every character: quotes around quotes, so that no value begins with a semicolon, which `for /f` would skip.
:envkit_copy
@set "%~2="
@if not defined %~1 exit /b 0
@setlocal EnableDelayedExpansion
@for /f "delims=" %%V in (""!%~1!"") do @endlocal & @set "%~2=%%~V"
@exit /b 0

@rem Measure: `n` becomes the length of `text`, by halves; a point behind it, so that it is never empty.
:envkit_measure
@set "_envkit_n=0"
@set "_envkit_text=!_envkit_text!."
@for %%V in (4096 2048 1024 512 256 128 64 32 16 8 4 2 1) do @if not "!_envkit_text:~%%V,1!"=="" set /a "_envkit_n+=%%V" & set "_envkit_text=!_envkit_text:~%%V!"
@exit /b 0

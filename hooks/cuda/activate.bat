@rem Made by envkit: switches to the CUDA toolkit of this environment. Rules and reasons: docs/activation.md in the
@rem sources of envkit. For cmd, by CALL: writes nothing to stdout, ends with status 0, leaves nothing behind; starts a
@rem program (chcp) only for a toolkit whose name is not plain ASCII. No value of the user is ever expanded by percent
@rem signs: it may hold quotes, ampersands and exclamation marks.

@rem Undo (docs/activation.md, "Windows"; the same text stands in activate.bat and deactivate.bat): a variable that
@rem still holds our toolkit gets the value of the user back; one that the user changed meanwhile stays.
@set "_envkit_home="
@set "_envkit_path="
@if not defined _ENVKIT_@SLOT@_TOOLKIT goto :envkit_undo_path
@setlocal EnableDelayedExpansion
@if "!CUDA_HOME!"=="!_ENVKIT_@SLOT@_TOOLKIT!" set "_envkit_home=x"
@if "!CUDA_PATH!"=="!_ENVKIT_@SLOT@_TOOLKIT!" set "_envkit_path=x"
@endlocal & set "_envkit_home=%_envkit_home%" & set "_envkit_path=%_envkit_path%"
@if defined _envkit_home call :envkit_copy _ENVKIT_@SLOT@_HOME_WAS CUDA_HOME
@if defined _envkit_path call :envkit_copy _ENVKIT_@SLOT@_PATH_WAS CUDA_PATH
@set "_envkit_home="
@set "_envkit_path="
:envkit_undo_path
@rem Of PATH our two entries go from where they were put: right behind the first entry of the prefix, or, where it has
@rem none, in front, and then only if there are more of them than the user had.
@if not defined PATH goto :envkit_undo_end
@setlocal EnableDelayedExpansion
@set "_envkit_list=!PATH!"
@set "_envkit_changed="
@set "_envkit_prefix="
@if "@SLOT@"=="CONDA" if defined CONDA_PREFIX set "_envkit_prefix=!CONDA_PREFIX!"
@if "@SLOT@"=="VENV" if defined VIRTUAL_ENV set "_envkit_prefix=!VIRTUAL_ENV!\Scripts"
@if not defined _ENVKIT_@SLOT@_TOOLKIT goto :envkit_undo_front
@if not defined _envkit_prefix goto :envkit_undo_front
@set "_envkit_what=!_envkit_prefix!"
@call :envkit_find
@if not defined _envkit_at goto :envkit_undo_front
@set /a "_envkit_cut=_envkit_at+_envkit_size-1"
@set "_envkit_text=;!_ENVKIT_@SLOT@_TOOLKIT!\bin;!_ENVKIT_@SLOT@_TOOLKIT!\libnvvp"
@set "_envkit_what=!_envkit_text!;"
@call :envkit_measure
@set /a "_envkit_end=_envkit_cut+_envkit_n"
@set "_envkit_text=!_envkit_list!;"
@set /a "_envkit_n+=1"
@if /i not "!_envkit_text:~%_envkit_cut%,%_envkit_n%!"=="!_envkit_what!" goto :envkit_undo_front
@set "_envkit_list=!_envkit_list:~0,%_envkit_cut%!!_envkit_list:~%_envkit_end%!"
@set "_envkit_changed=x"
:envkit_undo_front
@if not defined _ENVKIT_@SLOT@_BIN goto :envkit_undo_list
@set "_envkit_what=!_ENVKIT_@SLOT@_BIN!"
@call :envkit_find
@if not defined _envkit_at goto :envkit_undo_list
@set "_envkit_text=!_ENVKIT_@SLOT@_OWN!"
@call :envkit_measure
@if "!_envkit_marks:~%_envkit_n%,1!"=="" goto :envkit_undo_list
@set /a "_envkit_end=_envkit_at+_envkit_size"
@set "_envkit_list=!_envkit_list!;"
@set "_envkit_list=!_envkit_list:~0,%_envkit_at%!!_envkit_list:~%_envkit_end%!"
@if defined _envkit_list set "_envkit_list=!_envkit_list:~0,-1!"
@set "_envkit_changed=x"
:envkit_undo_list
@if not defined _envkit_changed endlocal & goto :envkit_undo_end
@for /f "delims=" %%V in (""!_envkit_list!"") do @endlocal & @set "PATH=%%~V"
:envkit_undo_end
@set "_ENVKIT_@SLOT@_TOOLKIT="
@set "_ENVKIT_@SLOT@_HOME_WAS="
@set "_ENVKIT_@SLOT@_PATH_WAS="
@set "_ENVKIT_@SLOT@_BIN="
@set "_ENVKIT_@SLOT@_OWN="
@rem End of undo.

@rem Apply ("Windows"): the recorded folder, then where this release usually lies; a conda prefix that is its own toolkit
@rem has it in Library, wherever it lies, and in PATH already. cmd reads this file in the code page of the console, and
@rem it is UTF-8: a name with more than ASCII is read under that one.
@set "_envkit_toolkit="
@set "_envkit_inside="
@if @INSIDE@=="" goto :envkit_look
@if not defined CONDA_PREFIX goto :envkit_look
@set "_envkit_inside=x"
@setlocal EnableDelayedExpansion
@for /f "delims=" %%V in (""!CONDA_PREFIX!\Library"") do @endlocal & @set "_envkit_toolkit=%%~V"
:envkit_look
@set "_envkit_wide="
@set "_envkit_page="
@for /f "delims=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\/:._-+()[]{}',#$@=~ " %%V in (@TOOLKIT@) do @set "_envkit_wide=x"
@if defined _envkit_wide for /f "tokens=2 delims=:." %%V in ('"%SystemRoot%\System32\chcp.com"') do @set "_envkit_page=%%V"
@if defined _envkit_page "%SystemRoot%\System32\chcp.com" 65001 >nul
@for %%V in (@WINDOWS_CANDIDATES@) do @if not defined _envkit_toolkit if exist "%%~V\bin\" set "_envkit_toolkit=%%~V"
@if defined _envkit_toolkit goto :envkit_found
@if "@SLOT@"=="CONDA" >&2 echo envkit: there is no CUDA toolkit @TOOLKIT@; CUDA_HOME, CUDA_PATH and PATH stay yours. Repair: envkit hooks install "%%CONDA_PREFIX%%" --toolkit DIR
@if "@SLOT@"=="VENV" >&2 echo envkit: there is no CUDA toolkit @TOOLKIT@; CUDA_HOME, CUDA_PATH and PATH stay yours. Repair: envkit hooks install "%%VIRTUAL_ENV%%" --toolkit DIR
@if "@SLOT@"=="WINDOW" >&2 echo envkit: there is no CUDA toolkit @TOOLKIT@; CUDA_HOME, CUDA_PATH and PATH stay yours.
:envkit_found
@if defined _envkit_page "%SystemRoot%\System32\chcp.com" %_envkit_page% >nul
@set "_envkit_wide="
@set "_envkit_page="
@if not defined _envkit_toolkit goto :envkit_end
@call :envkit_copy CUDA_HOME _ENVKIT_@SLOT@_HOME_WAS
@call :envkit_copy CUDA_PATH _ENVKIT_@SLOT@_PATH_WAS
@call :envkit_copy _envkit_toolkit _ENVKIT_@SLOT@_TOOLKIT
@call :envkit_copy _envkit_toolkit CUDA_HOME
@call :envkit_copy _envkit_toolkit CUDA_PATH

@rem Right behind the first entry of the prefix: what conda takes out of PATH is all between its first and its last entry,
@rem ours with them, when it switches to other environments too. Already there: nothing to do.
@if defined _envkit_inside goto :envkit_end
@setlocal EnableDelayedExpansion
@set "_envkit_list=!PATH!"
@set "_envkit_prefix="
@if "@SLOT@"=="CONDA" if defined CONDA_PREFIX set "_envkit_prefix=!CONDA_PREFIX!"
@if "@SLOT@"=="VENV" if defined VIRTUAL_ENV set "_envkit_prefix=!VIRTUAL_ENV!\Scripts"
@if not defined _envkit_prefix goto :envkit_front
@if not defined _envkit_list goto :envkit_front
@set "_envkit_what=!_envkit_prefix!"
@call :envkit_find
@if not defined _envkit_at goto :envkit_front
@set /a "_envkit_cut=_envkit_at+_envkit_size-1"
@set "_envkit_what=;!_envkit_toolkit!\bin;!_envkit_toolkit!\libnvvp"
@set "_envkit_text=!_envkit_what!;"
@call :envkit_measure
@set "_envkit_text=!_envkit_list!;"
@if /i "!_envkit_text:~%_envkit_cut%,%_envkit_n%!"=="!_envkit_what!;" endlocal & goto :envkit_end
@set "_envkit_list=!_envkit_list:~0,%_envkit_cut%!!_envkit_what!!_envkit_list:~%_envkit_cut%!"
@for /f "delims=" %%V in (""!_envkit_list!"") do @endlocal & @set "PATH=%%~V"
@goto :envkit_end

@rem In front, where the prefix has no entry (and for `envkit cuda use`, which has no prefix). OWN: how many the user had,
@rem one x each: no arithmetic on inherited text.
:envkit_front
@set "_envkit_what=!_envkit_toolkit!\bin;!_envkit_toolkit!\libnvvp"
@call :envkit_find
@endlocal & set "_ENVKIT_@SLOT@_OWN=%_envkit_marks%"
@setlocal EnableDelayedExpansion
@for /f "delims=" %%V in (""!_envkit_toolkit!\bin;!_envkit_toolkit!\libnvvp"") do @endlocal & @set "_ENVKIT_@SLOT@_BIN=%%~V"
@setlocal EnableDelayedExpansion
@set "_envkit_list=!_ENVKIT_@SLOT@_BIN!"
@if defined PATH set "_envkit_list=!_envkit_list!;!PATH!"
@for /f "delims=" %%V in (""!_envkit_list!"") do @endlocal & @set "PATH=%%~V"
:envkit_end
@set "_envkit_toolkit="
@set "_envkit_inside="
@exit /b 0

@rem Copy: the variable named second becomes what the first one holds, or unset. The one way out of delayed expansion that
@rem keeps every character: quotes around quotes, so that no value begins with a semicolon, which `for /f` would skip.
:envkit_copy
@set "%~2="
@if not defined %~1 exit /b 0
@setlocal EnableDelayedExpansion
@for /f "delims=" %%V in (""!%~1!"") do @endlocal & @set "%~2=%%~V"
@exit /b 0

@rem Find `what` among the entries of `list`, with delayed expansion on: `at` is where it first begins, or unset, `size` its
@rem length and one more, `marks` one x for each place.
:envkit_find
@set "_envkit_at="
@set "_envkit_marks="
@set "_envkit_tail="
@set "_envkit_text=!_envkit_what!;"
@call :envkit_measure
@set "_envkit_size=%_envkit_n%"
@set "_envkit_rest=!_envkit_list!;"
:envkit_next
@if /i not "!_envkit_rest:~0,%_envkit_size%!"=="!_envkit_what!;" goto :envkit_other
@set "_envkit_marks=!_envkit_marks!x"
@if not defined _envkit_tail set "_envkit_tail=!_envkit_rest!"
:envkit_other
@set "_envkit_rest=!_envkit_rest:*;=!"
@if defined _envkit_rest goto :envkit_next
@if not defined _envkit_tail exit /b 0
@set "_envkit_text=!_envkit_list!;"
@call :envkit_measure
@set "_envkit_at=%_envkit_n%"
@set "_envkit_text=!_envkit_tail!"
@call :envkit_measure
@set /a "_envkit_at-=_envkit_n"
@exit /b 0

@rem Measure: `n` becomes the length of `text`, by halves; a point behind it, so that it is never empty.
:envkit_measure
@set "_envkit_n=0"
@set "_envkit_text=!_envkit_text!."
@for %%V in (4096 2048 1024 512 256 128 64 32 16 8 4 2 1) do @if not "!_envkit_text:~%%V,1!"=="" set /a "_envkit_n+=%%V" & set "_envkit_text=!_envkit_text:~%%V!"
@exit /b 0

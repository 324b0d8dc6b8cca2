function _gradeval_completion;
    set -l response (env _GRADEVAL_COMPLETE=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) gradeval);

    for completion in $response;
        set -l metadata (string split -m 1 "," -- $completion);

        if test $metadata[1] = "dir";
            __fish_complete_directories $metadata[2];
        else if test $metadata[1] = "file";
            # files that begin as the word does, else as what follows --option= or NAME=
            set -l name (string match -r "^[^=/]*=" -- (commandline -t));
            set -l path (string replace -- "$name" "" "$metadata[2]");
            if test "$path" != "$metadata[2]"; and count (__fish_complete_path "$metadata[2]") >/dev/null;
                set name "";
                set path "$metadata[2]";
            end;
            for file in (__fish_complete_path "$path");
                echo "$name$file";
            end;
        else if test $metadata[1] = "plain";
            echo $metadata[2];
        end;
    end;
end;

complete --no-files --command gradeval --arguments "(_gradeval_completion)";

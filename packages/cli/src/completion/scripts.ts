import type { Completed, CompletedCommand } from "./words.js";

/** The supported shells. */
export const shells = ["bash", "zsh", "fish"] as const;

/** One of them. */
export type Shell = (typeof shells)[number];

/** The script that a shell sources to complete the command `wirescope`. */
export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](commands);
}

/** A string in single quotes for all three shells. Only our own tables are quoted, never text from a peer. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** For bash and zsh: determines what to complete at the cursor: the value of an option, or the argument of the command. */
function kindCases(commands: readonly CompletedCommand[], value: (completed: Completed) => string): string {
  const row = (words: string, completed: Completed): string => `${quoted(words)}) ${value(completed)} ;;`;
  const optionRows = commands.flatMap(({ name, options }) =>
    options.flatMap((option) => (option.value === undefined ? [] : row(`${name} ${option.flag}`, option.value))),
  );
  return `  [[ "$previous" == -* ]] || previous=''
  case "$command $previous" in
${optionRows.map((each) => `    ${each}`).join("\n")}
    *) kind=argument ;;
  esac
  if [[ "$kind" == argument ]]; then
    case "$command" in
${commands.map(({ name, argument }) => `      ${row(name, argument)}`).join("\n")}
    esac
  fi`;
}

function bashScript(commands: readonly CompletedCommand[]): string {
  const value = (completed: Completed): string => {
    if (completed.kind === "choices") return `kind=words; values=${quoted(completed.choices.join(" "))}`;
    return `kind=${completed.kind}`;
  };
  return `# bash completion of wirescope. Add to ~/.bashrc: source <(wirescope completion bash)
_wirescope() {
  local line="\${COMP_LINE:0:COMP_POINT}" word command='' previous kind values='' options=''
  local -a given
  # Not COMP_WORDS: those are split at colons, which addresses contain.
  read -ra given <<< "$line"
  [[ "$line" == *' ' ]] && given+=('')
  local current="\${given[\${#given[@]}-1]}"
  previous="\${given[\${#given[@]}-2]}"
  for word in "\${given[@]:1:\${#given[@]}-2}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  COMPREPLY=()
  if [[ -z "$command" ]]; then
    [[ "$current" == -* ]] && values='--help --version' || values=${quoted(commands.map(({ name }) => name).join(" "))}
    COMPREPLY=($(compgen -W "$values" -- "$current"))
    return
  fi
  case "$command" in
${commands.map(({ name, options }) => `    ${name}) options=${quoted(options.map(({ flag }) => flag).join(" "))} ;;`).join("\n")}
  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
    return
  fi
${kindCases(commands, value)}
  case "$kind" in
    words) COMPREPLY=($(compgen -W "$values" -- "$current")) ;;
    file) COMPREPLY=($(compgen -f -- "$current")) ;;
    ids|names)
      local IFS=$'\\n'
      COMPREPLY=($(compgen -W "$("\${given[0]}" completion "$kind" -- "\${given[@]:1}" 2>/dev/null | cut -f1)" -- "$current"))
      ;;
  esac
}
complete -o default -F _wirescope wirescope
`;
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const described = (items: readonly (readonly [string, string])[]): string =>
    items.map(([word, help]) => quoted(`${word.replaceAll(":", "\\:")}:${help}`)).join(" ");
  const value = (completed: Completed): string => {
    if (completed.kind === "choices") return `kind=words; items=(${completed.choices.map(quoted).join(" ")})`;
    return `kind=${completed.kind}`;
  };
  return `#compdef wirescope
# zsh completion of wirescope. Add to ~/.zshrc, after compinit: source <(wirescope completion zsh)
_wirescope() {
  local command='' previous="\${words[CURRENT-1]}" current="\${words[CURRENT]}" kind=nothing word
  local -a items options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  if [[ -z "$command" ]]; then
    items=(${described(commands.map(({ name, summary }) => [name, summary] as const))})
    _describe command items
    return
  fi
  case "$command" in
${commands.map(({ name, options }) => `    ${name}) options=(${described(options.map(({ flag, help }) => [flag, help] as const))}) ;;`).join("\n")}
  esac
  if [[ "$current" == -* ]]; then
    _describe option options
    return
  fi
${kindCases(commands, value)}
  case "$kind" in
    words) _describe value items ;;
    file) _files ;;
    ids|names)
      items=("\${(@f)$("\${words[1]}" completion "$kind" -- "\${(@)words[2,CURRENT]}" 2>/dev/null | sed -e 's/:/\\\\:/g' -e $'s/\\t/:/')}")
      [[ -n "\${items[1]}" ]] && _describe object items
      ;;
    *) _default ;;
  esac
}
compdef _wirescope wirescope
`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, summary, options, argument }) => {
    const inCommand = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    return [
      `complete -c wirescope -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...options.map(({ flag, help, value }) => {
        const takes = value === undefined ? "" : ` -r ${fishValue(value)}`;
        return `complete -c wirescope ${inCommand} -l ${flag.slice(2)}${takes} -d ${quoted(help)}`;
      }),
      ...(argument.kind === "nothing" ? [] : [`complete -c wirescope ${inCommand} ${fishValue(argument)}`]),
    ];
  });
  return `# fish completion of wirescope. Save as ~/.config/fish/completions/wirescope.fish
function __wirescope_objects
  set -l given (commandline -opc)
  command $given[1] completion $argv[1] -- $given[2..-1] (commandline -ct) 2>/dev/null
end
complete -c wirescope -f
${lines.join("\n")}
`;
}

function fishValue(completed: Completed): string {
  switch (completed.kind) {
    case "choices":
      return `-f -a ${quoted(completed.choices.join(" "))}`;
    case "file":
      return "-F";
    case "ids":
    case "names":
      return `-f -a '(__wirescope_objects ${completed.kind})'`;
    case "nothing":
      return "-f";
  }
}

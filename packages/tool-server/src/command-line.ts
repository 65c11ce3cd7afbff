let program = "wirescope";
let isCommand = false;

/** Sets how users run the command, for the commands in advice, such as `npx wirescope`. Default `wirescope`. Once, when a process starts. */
export function setProgram(howToRun: string): void {
  program = howToRun;
  isCommand = true;
}

/** How to pass an environment file: by the option of the command, or else by that of a program. */
export function envFileOption(): string {
  return isCommand ? "--env-file" : "`envFiles`";
}

let serverOptions: readonly string[] = [];
let signInOptions: readonly string[] = [];
let loginOptions: readonly string[] = [];
const serverCommands = [
  "trust",
  "login",
  "logout",
  "auth",
  "inputs",
  "why",
  "status",
  "tools",
  "call",
  "resources",
  "prompts",
  "ping",
];

/**
 * Sets the options by which commands in advice find the same servers, such as `--config team.json`, and the same sign-ins, such as
 * `--profile work`. Default none. Once, when a command starts.
 */
export function setServerOptions(servers: readonly string[], signIns: readonly string[] = []): void {
  serverOptions = servers;
  signInOptions = signIns;
  loginOptions = [];
}

/** Sets options that `login` needs in advice, such as --create-vault-key. Default none; `setServerOptions` removes them. */
export function setLoginOptions(options: readonly string[]): void {
  loginOptions = options;
}

/** One of our commands for users to paste: `wirescope login files`. Words are quoted if a shell requires it. */
export function commandLine(...words: readonly string[]): string {
  const [command = ""] = words;
  const isAboutServers = serverCommands.includes(command) && !words.includes("--help");
  const isFound = ["--config", "--endpoint"].some((each) => words.includes(each));
  const servers = isAboutServers && !isFound ? serverOptions : [];
  // Options are followed by their values. `trust` uses no tokens, so it takes no profile.
  const isAboutSignIns = isAboutServers && command !== "trust";
  const signIns = signInOptions.filter(
    (_, at) => isAboutSignIns && !words.includes(signInOptions[at - (at % 2)] ?? ""),
  );
  const logins = command === "login" ? loginOptions : [];
  return [program, ...[...words, ...servers, ...signIns, ...logins].map(shellWord)].join(" ");
}

/** Whether a scope has no characters that a shell interprets: people paste commands. */
export function isPlainScope(scope: string): boolean {
  return /^[\w.:/-]+$/.test(scope);
}

/** Quotes a word for a shell if necessary. Users paste commands from messages, and paths may come from a hostile folder. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./\u2026-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

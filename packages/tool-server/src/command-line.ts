import { shellWord } from "./shell-word.js";

let program = "wirescope";

/** Sets how users run the command, for the commands in advice, such as `npx wirescope`. Default `wirescope`. Once, when a process starts. */
export function setProgram(howToRun: string): void {
  program = howToRun;
}

/** A command of ours for users to paste: `wirescope login files`. Words are quoted if a shell requires it. */
export function commandLine(...words: readonly string[]): string {
  return [program, ...words.map(shellWord)].join(" ");
}

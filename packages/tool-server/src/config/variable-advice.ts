import { commandLine } from "../command-line.js";
import type { TemplateField } from "./entry.js";
import { inputPrefix, inputVariable } from "./template.js";

export function describeField({ field, server = "" }: TemplateField): string {
  return `${field} of server ${JSON.stringify(server)}`;
}

/** Advice for commands and for a running gateway: exporting a variable does not change a process that already runs. */
export function howToSet(name: string): string {
  return `Export ${name} before wirescope starts, or set it in a file that you pass with --env-file; a running gateway reloads that file when it changes.`;
}

/** Advice for a value that a user enters. */
export function howToEnter(name: string): string {
  const id = name.slice(inputPrefix.length);
  return `Enter it at a terminal: ${commandLine("inputs", id)}. Or set ${inputVariable(name)} in the environment, or in a file that you pass with --env-file.`;
}

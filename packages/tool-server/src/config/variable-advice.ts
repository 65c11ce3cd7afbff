import { commandLine, envFileOption } from "../command-line.js";
import type { TemplateField } from "./entry.js";
import { inputPrefix, inputVariable } from "./template.js";

export function describeField({ field, server = "" }: TemplateField): string {
  return `${field} of server ${JSON.stringify(server)}`;
}

/** Advice for commands. A running gateway has its own, because exporting a variable does not change it. */
export function howToSet(): string {
  return `Export it, or pass a file with ${envFileOption()}.`;
}

/** Advice for a value that a user enters. */
export function howToEnter(name: string): string {
  const id = name.slice(inputPrefix.length);
  return `Enter it at a terminal: ${commandLine("inputs", id)}. Or set ${inputVariable(name)} in the environment, or in a file that you pass with ${envFileOption()}.`;
}

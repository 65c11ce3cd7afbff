import { isCredentialHeader } from "../secrets/recognize-secrets.js";
import { isSecretPosition } from "./check-variables.js";
import { type Entry, templateFieldsOf } from "./entry.js";
import { knownVariables, notSecretVariable, pluginRootVariable, variablesOf } from "./template.js";

/** A use of a variable in a field. */
export interface VariableUse {
  readonly variable: string;
  readonly server: string;
  /** For example `headers.Authorization`. */
  readonly field: string;
  /** Whether the value is a secret in this field. */
  readonly isSecret: boolean;
  readonly hasDefault: boolean;
}

/** The variables that an entry uses, by field, without HOST_PLUGIN_ROOT and NOT_SECRET, which users do not set. */
export function variableUses(entry: Entry): VariableUse[] {
  return templateFieldsOf(entry).flatMap((field) =>
    variablesOf(field.template)
      .filter(({ name }) => name !== pluginRootVariable && name !== notSecretVariable && !knownVariables.has(name))
      .map(({ name, fallback }) => ({
        variable: name,
        server: entry.name,
        field: field.field,
        isSecret: isSecretPosition(field, name),
        hasDefault: fallback !== undefined || ("isOptional" in field && field.isOptional === true),
      })),
  );
}

/** Whether the value of a header comes from a command. */
export function hasHeaderCommands({ secretCommands }: Entry): boolean {
  return secretCommands.some(({ target }) => target === "header");
}

/**
 * Whether Wirescope signs in with OAuth if the server requires it: the server uses HTTP, and its entry has no helper, Authorization header or
 * API key. If the server rejects a configured credential, OAuth is not tried.
 */
export function usesOAuth(entry: Entry): boolean {
  if (entry.type !== "http" && entry.type !== "sse") return false;
  if (entry.headersHelper !== undefined || hasHeaderCommands(entry)) return false;
  if (entry.headers.some(({ name }) => /^authorization$/i.test(name) || isCredentialHeader(name))) return false;
  return !variableUses(entry).some(({ field, isSecret }) => isSecret && field.startsWith("headers."));
}

/** Why Wirescope does not sign in to a server with OAuth, as the rest of a sentence about it. */
export function whyNoOAuth(type: Entry["type"] | undefined): string {
  return type === "stdio" || type === "ws"
    ? `is of type ${type}, which does not use OAuth`
    : "has its own credential in the configuration and does not use OAuth";
}

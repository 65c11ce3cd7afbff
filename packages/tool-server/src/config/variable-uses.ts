import { isCredentialHeader } from "../secrets/secret-names.js";
import { type Entry, textFieldsOf } from "./entry.js";
import { isSecretPosition } from "./judge-variables.js";
import { notSecretVariable, pluginRootVariable } from "./template.js";

/** That a variable is used in a field. */
export interface VariableUse {
  readonly variable: string;
  readonly server: string;
  /** As `headers.Authorization`. */
  readonly field: string;
  /** Whether the field takes it as a secret. */
  readonly isSecret: boolean;
  readonly hasDefault: boolean;
}

/** The variables that an entry refers to, by field; without HOST_PLUGIN_ROOT and NOT_SECRET, which nobody sets. */
export function variableUses(entry: Entry): VariableUse[] {
  return textFieldsOf(entry).flatMap((field) =>
    field.template.parts.flatMap((part) => {
      if (part.kind === "text" || part.name === pluginRootVariable || part.name === notSecretVariable) return [];
      return [
        {
          variable: part.name,
          server: entry.name,
          field: field.field,
          isSecret: isSecretPosition(field, part.name),
          hasDefault: part.fallback !== undefined,
        },
      ];
    }),
  );
}

/**
 * Whether a server is signed in to by OAuth, should it ask: it is reached by HTTP and its entry brings no credential, be it a helper,
 * an Authorization or a key. What an entry brings and the server refuses never falls into OAuth.
 */
export function usesOAuth(entry: Entry): boolean {
  if (entry.type !== "http" && entry.type !== "sse") return false;
  if (entry.headersHelper !== undefined) return false;
  if (entry.headers.some(({ name }) => /^authorization$/i.test(name) || isCredentialHeader(name))) return false;
  return !variableUses(entry).some(({ field, isSecret }) => isSecret && field.startsWith("headers."));
}

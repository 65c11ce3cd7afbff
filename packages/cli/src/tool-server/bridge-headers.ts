import { type HeaderSource, parseTemplate, type Variables } from "@wirescope/tool-server";
import { UsageError } from "../usage-error.js";

/** Headers of the command line with the variables of the environment put in. Throws a UsageError that repeats no value. */
export function bridgeHeaders(texts: readonly string[], env: Variables): HeaderSource[] {
  return texts.map((text) => {
    const colon = text.indexOf(":");
    const name = text.slice(0, Math.max(0, colon)).trim();
    if (name === "") throw new UsageError("--header takes a header like 'name: value'.");
    const variables: string[] = [];
    const { parts } = parseTemplate(text.slice(colon + 1).trim());
    const value = parts.map((part) => {
      if (part.kind === "text") return part.text;
      variables.push(part.name);
      const found = env[part.name] || part.fallback;
      if (!found) throw new UsageError(`${part.name} is not set, and the header ${name} needs it.`);
      return found;
    });
    return { name, value: value.join(""), variables };
  });
}

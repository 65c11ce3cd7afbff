import type { HeaderSource } from "@wirescope/tool-server/auth";
import { parseTemplate, type Variables } from "@wirescope/tool-server/config";
import { UsageError } from "../usage-error.js";

/**
 * Headers of the command line with environment variables expanded: `${NAME}`, `${NAME:-default}` and `$NAME`. The last form is for the
 * `args` of an entry, where the others would be expanded too early. Throws a UsageError that repeats no value.
 */
export function bridgeHeaders(texts: readonly string[], env: Variables): HeaderSource[] {
  return texts.map((text) => {
    const colon = text.indexOf(":");
    const name = text.slice(0, Math.max(0, colon)).trim();
    if (name === "") throw new UsageError("--header requires a header such as 'name: value'.");
    const { parts, malformed } = parseTemplate(text.slice(colon + 1).trim());
    if (malformed.length > 0)
      throw new UsageError(`The header ${name} contains a ${"${"} that is not a variable reference.`);
    const variables: string[] = [];
    const lookUp = (variable: string, fallback?: string): string => {
      variables.push(variable);
      const found = env[variable] || fallback;
      if (!found) throw new UsageError(`The header ${name} requires ${variable}, which is not set.`);
      return found;
    };
    const values = parts.map((part) =>
      part.kind === "variable"
        ? lookUp(part.name, part.fallback)
        : part.text.replace(/\$([A-Za-z_]\w*)/g, (_, variable: string) => lookUp(variable)),
    );
    const value = values.join("");
    if (value.includes("${")) throw new UsageError(`The header ${name} would contain ${"${"}, which is never sent.`);
    return { name, value, variables };
  });
}

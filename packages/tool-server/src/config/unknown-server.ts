import { ToolServerError } from "../errors.js";
import { suggest } from "../suggest.js";
import type { Configuration } from "./parse-configuration.js";

/** That a configuration has no server of this name, which ones it has, and which was meant. */
export function unknownServer(
  name: string,
  { entries }: Pick<Configuration, "entries">,
  redact: (text: string) => string = (text) => text,
): ToolServerError {
  const names = entries.map((entry) => entry.name);
  const close = suggest(name, names);
  const guess = close === undefined ? "" : `Did you mean ${JSON.stringify(close)}? `;
  const list = names.length === 0 ? "The configuration has none." : `There are: ${names.join(", ")}.`;
  const problem = redact(`There is no server ${JSON.stringify(name)} in the configuration.`);
  return new ToolServerError("SERVER_UNKNOWN", { problem, advice: redact(`${guess}${list}`) });
}

import { printableText } from "@wirescope/channelz/internal";
import { type OAuthOverrides, ToolServerError } from "@wirescope/tool-server";
import type { Variables } from "@wirescope/tool-server/config";
import { readOAuthFile as readSettings } from "@wirescope/tool-server/internal";
import type { Io } from "../io.js";
import { UsageError } from "../usage-error.js";

/**
 * The OAuth settings of each server in the user's file, by its name and url. `variables` replace `${NAME}`. Throws a UsageError if the
 * file cannot be used, and so does what it returns.
 */
export function readOAuthFile(io: Io, variables: Variables): (server: string, url: string) => OAuthOverrides {
  const onNote = (note: string): void => {
    io.stderr.write(`wirescope: ${printableText(note)}\n`);
  };
  const read = usable(() => readSettings(io.env, { variables, onNote }));
  return (server, url) => usable(() => read(server, url));
}

function usable<T>(task: () => T): T {
  try {
    return task();
  } catch (error) {
    if (!ToolServerError.is(error, "CONFIGURATION_UNREADABLE")) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

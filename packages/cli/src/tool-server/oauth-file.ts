import { printableText } from "@wirescope/channelz/internal";
import { type OAuthOverrides, ToolServerError } from "@wirescope/tool-server";
import type { Variables } from "@wirescope/tool-server/config";
import { readOAuthFile as readSettings } from "@wirescope/tool-server/internal";
import type { Io } from "../io.js";
import { UsageError } from "../usage-error.js";

/**
 * Reads the user's OAuth settings; the returned function looks up those of a server by name and url. `variables` replace `${NAME}`. Throws
 * a UsageError if the file is invalid. The lookup throws CONFIGURATION_UNREADABLE: it concerns one server, and the others still work.
 * `onNote` is called with settings that are not used; default: standard error.
 */
export function readOAuthFile(
  io: Io,
  variables: Variables,
  onNote = (note: string): void => void io.stderr.write(`wirescope: ${note}\n`),
): (server: string, url: string) => OAuthOverrides {
  try {
    return readSettings(io.env, { variables, onNote: (note) => onNote(printableText(note)) });
  } catch (error) {
    if (!ToolServerError.is(error, "CONFIGURATION_UNREADABLE")) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

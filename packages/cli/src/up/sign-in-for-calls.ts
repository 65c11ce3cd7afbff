import type { GatewaySignIn } from "@wirescope/gateway";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { hasBrowser, openBrowser } from "../tool-server/open-browser.js";
import type { upOptions } from "./up-options.js";

/**
 * How a person signs in when a call needs it; undefined if calls may come from other machines or people. The browser opens if
 * somebody is there: at the terminal, or at the client that runs the gateway.
 */
export function signInForCalls(
  values: OptionValues<typeof upOptions>,
  io: Io,
  linkTo: (server: string) => Promise<string>,
): GatewaySignIn | undefined {
  const { host = "127.0.0.1", "allow-host": names, "allow-origin": origins } = values;
  const isLocal = /^(?:localhost|::1|127(?:\.\d+){3})$/.test(host) && names.length === 0 && origins.length === 0;
  if (!isLocal) return undefined;
  const isAttended = values.stdio || io.stdout.isTTY === true || io.stderr.isTTY === true;
  const opensBrowser = isAttended && !values["no-browser"] && hasBrowser(io);
  return { linkTo, ...(opensBrowser && { openBrowser: (url: string) => openBrowser(url, io) }) };
}

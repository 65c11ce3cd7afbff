import { printableText } from "@wirescope/channelz/printable-text";
import { ToolServerError, type ToolServerErrorCode } from "@wirescope/tool-server";
import type { Io } from "../io.js";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { jsonOf } from "../tool-server/json-of.js";
import { assertScopes } from "../tool-server/scope-names.js";
import type { AdminAtHand } from "./ask-gateway.js";
import { isReady, oauthOf } from "./messages.js";
import { signInThrough } from "./sign-in-through.js";

export interface LoginOptions {
  readonly name: string;
  readonly device: boolean;
  readonly scope: readonly string[];
  readonly json: boolean;
  readonly confirmedOrigin: string | undefined;
}

/** Signs in the gateway that runs, and tells how that went. Gives the exit code. */
export async function loginThrough(
  gateway: AdminAtHand,
  io: Io,
  screen: Screen,
  { name, device: isByDevice, scope: scopes, json: isJson, confirmedOrigin }: LoginOptions,
): Promise<number> {
  assertScopes(scopes);
  const interruption = new AbortController();
  const onInterrupt = (): void => {
    interruption.abort(new ToolServerError("SIGN_IN_FAILED", `The sign-in to ${name} was interrupted.`));
  };
  process.once("SIGINT", onInterrupt);
  try {
    const { signal } = interruption;
    const server = await signInThrough(gateway, io, { server: name, isByDevice, scopes, confirmedOrigin, signal });
    const { authentication, state, failure, serverName, serverVersion, protocolVersion } = server;
    const oauth = authentication?.oauth && oauthOf(authentication.oauth);
    if (!isJson) {
      const who = oauth?.account === undefined ? "" : ` as ${oauth.account}`;
      const issuer = oauth?.issuer ?? "its authorization server";
      screen.print(printableText(`The gateway at ${gateway.url} is signed in to ${name}${who} with ${issuer}.`));
      if (oauth?.scopes !== undefined) screen.print(printableText(`Permissions: ${oauth.scopes.join(", ")}.`));
    }
    if (!isReady(state)) {
      const message = failure?.message ?? `${name} is not connected yet. See wirescope auth ${name}.`;
      throw new ToolServerError((failure?.code || "SERVER_FAILED") as ToolServerErrorCode, message);
    }
    const answers = { name: serverName, version: serverVersion, protocolVersion };
    if (isJson) screen.print(formatJson(jsonOf({ server: name, ...oauth, answers, gateway: gateway.url })));
    else screen.print(printableText(`${name} answers: ${serverName || "a server"} ${serverVersion}`.trim()));
    return 0;
  } finally {
    process.removeListener("SIGINT", onInterrupt);
  }
}

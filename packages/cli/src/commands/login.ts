import { printableText } from "@wirescope/channelz/printable-text";
import { parseUrl } from "@wirescope/channelz/url";
import { formatJson } from "../output/json.js";
import { jsonOf } from "../tool-server/json-of.js";
import { assertScopes } from "../tool-server/scope-names.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineServerCommand } from "./define-server-command.js";

/** Signs in to a server. */
export const loginCommand: Command = defineServerCommand({
  name: "login",
  summary: "sign in to a server that asks for OAuth",
  parameters: ["<server>"],
  options: {
    scope: { type: "string", multiple: true, placeholder: "name", help: "ask for this permission too" },
    device: { type: "boolean", help: "sign in on another device, with a code, where the server has that" },
    "create-vault-key": {
      type: "boolean",
      help: "if there is no keychain and no key, generate a key and keep the tokens in an encrypted file",
    },
    "authorization-origin": {
      type: "string",
      placeholder: "origin",
      help: "accept a sign-in page at this origin, such as https://login.example.com, instead of the origin of the authorization server",
    },
  },
  notes: [
    "It shows the permissions that will be asked for, opens the browser and waits for its answer on this machine.",
    "Where a gateway runs with the same configuration, it is signed in, and its clients get the tools at once.",
    "Over SSH, paste the address that the browser ends at, or give --device.",
    "A client that was registered by hand, scopes and more: wirescope/oauth.json of your configuration folder.",
  ],
  keyCreation: (values) => (values["create-vault-key"] ? "always" : "ask"),
  async use({ servers, screen, io, values, positionals }) {
    const [name = ""] = positionals;
    const session = await servers.oauth(name);
    assertScopes(values.scope);
    const confirmedOrigin = readOrigin(values["authorization-origin"]);
    if (session === undefined) {
      throw new UsageError(`${name} brings its own credential, so there is nothing to sign in to. See wirescope auth.`);
    }
    const { parseResourceChallenge, ToolServerError } = await import("@wirescope/tool-server");
    const { personAtTerminal } = await import("../tool-server/person-at-terminal.js");
    const interruption = new AbortController();
    const onInterrupt = (): void => {
      interruption.abort(new ToolServerError("SIGN_IN_FAILED", `The sign-in to ${name} was interrupted.`));
    };
    process.once("SIGINT", onInterrupt);
    try {
      if (session.isMachine) await session.replace(undefined, parseResourceChallenge(undefined), interruption.signal);
      else {
        const wish = { way: values.device ? "device" : undefined, scopes: values.scope } as const;
        await session.signIn(personAtTerminal(io, confirmedOrigin), wish, interruption.signal);
      }
    } finally {
      process.removeListener("SIGINT", onInterrupt);
    }
    const status = await session.status();
    const { account, issuer, scopes } = status;
    if (!values.json) {
      const who = account === undefined ? "" : ` as ${account}`;
      screen.print(printableText(`Signed in to ${name}${who} with ${issuer ?? "its authorization server"}.`));
      if (scopes !== undefined && scopes.length > 0) screen.print(printableText(`Permissions: ${scopes.join(", ")}.`));
    }
    const connection = await servers.open(name);
    const server = await connection.connect();
    if (values.json) screen.print(formatJson(jsonOf({ server: name, ...status, answers: server })));
    else screen.print(printableText(`${name} answers: ${server.name ?? "a server"} ${server.version ?? ""}`.trim()));
    return 0;
  },
  through: {
    isChange: true,
    async use({ gateway, screen, io, values, positionals }) {
      const [name = ""] = positionals;
      const { loginThrough } = await import("../admin/login-through.js");
      const confirmedOrigin = readOrigin(values["authorization-origin"]);
      return loginThrough(gateway, io, screen, { name, confirmedOrigin, ...values });
    },
  },
});

function readOrigin(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const origin = parseUrl(text)?.origin ?? "null";
  if (origin === "null")
    throw new UsageError("--authorization-origin takes an origin, such as https://login.example.com.");
  return origin;
}

import { parseUrl, printableText } from "@wirescope/channelz/internal";
import { formatJson } from "../output/json.js";
import { jsonOf } from "../tool-server/json-of.js";
import { assertScopes } from "../tool-server/scope-names.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

/** Signs in to a server. */
export const loginCommand: Command = defineAdminCommand({
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
    ...serverOptions,
    ...adminOptions,
  },
  notes: [
    "It shows the permissions that will be asked for, opens the browser and waits for its answer on this machine.",
    "Where a gateway runs with the same configuration, it is signed in, and its clients get the tools at once.",
    "Over SSH, paste the address that the browser ends at, or give --device.",
    "A client that was registered by hand, scopes and more: wirescope/oauth.json of your configuration folder.",
  ],
  keyCreation: (values) => (values["create-vault-key"] ? "always" : "ask"),
  isChange: () => true,
  check(values) {
    assertScopes(values.scope);
    readOrigin(values["authorization-origin"]);
  },
  async use({ admin, screen, values, positionals }) {
    const [name = ""] = positionals;
    const confirmedOrigin = readOrigin(values["authorization-origin"]);
    const { ToolServerError } = await import("@wirescope/tool-server");
    const { personAtTerminal } = await import("../tool-server/person-at-terminal.js");
    const interruption = new AbortController();
    const onInterrupt = (): void => {
      const problem = `The sign-in to ${name} was interrupted.`;
      interruption.abort(new ToolServerError("SIGN_IN_FAILED", { problem, advice: "" }));
    };
    process.once("SIGINT", onInterrupt);
    const { oauth, connect } = await admin
      .signIn(name, {
        person: personAtTerminal(admin.io, confirmedOrigin),
        isByDevice: values.device,
        scopes: values.scope,
        confirmedOrigin,
        signal: interruption.signal,
      })
      .finally(() => process.removeListener("SIGINT", onInterrupt));
    const { account, issuer, scopes = [] } = oauth ?? {};
    if (!values.json) {
      const who = account === undefined ? "" : ` as ${account}`;
      const subject = admin.gateway === undefined ? "Signed in" : `The gateway at ${admin.gateway} is signed in`;
      screen.print(printableText(`${subject} to ${name}${who} with ${issuer ?? "its authorization server"}.`));
      if (scopes.length > 0) screen.print(printableText(`Permissions: ${scopes.join(", ")}.`));
    }
    const answers = await connect();
    if (values.json) screen.print(formatJson(jsonOf({ server: name, ...oauth, answers, gateway: admin.gateway })));
    else screen.print(printableText(`${name} answers: ${answers.name || "a server"} ${answers.version ?? ""}`.trim()));
    return 0;
  },
});

function readOrigin(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const origin = parseUrl(text)?.origin ?? "null";
  if (origin === "null")
    throw new UsageError("--authorization-origin takes an origin, such as https://login.example.com.");
  return origin;
}

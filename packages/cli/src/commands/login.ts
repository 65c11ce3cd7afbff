import { parseUrl, printableText } from "@wirescope/channelz/internal";
import type { IdentityStatus, SignOutReport, WipedTokens } from "@wirescope/tool-server/auth";
import { interruptible } from "../interruption.js";
import { formatJson, jsonOf } from "../output/json.js";
import { serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

/** Signs in to a server. */
export const loginCommand: Command = defineAdminCommand({
  name: "login",
  summary: "sign in to a server with OAuth",
  parameters: ["[server|url]"],
  serverAt: 0,
  options: {
    idp: {
      type: "string",
      placeholder: "issuer",
      help: "sign in to the identity provider of your organization, whose token is exchanged for access to servers",
    },
    "client-id": {
      type: "string",
      placeholder: "id",
      help: "with --idp: the registered client; default: that of the last sign-in",
    },
    scope: { type: "string", multiple: true, placeholder: "name", help: "also request this scope" },
    device: {
      type: "boolean",
      help: "sign in on another device with a code (device flow), if the authorization server supports it",
    },
    "create-vault-key": {
      type: "boolean",
      help: "if there is no keychain and no key, generate a key and store the tokens in an encrypted file",
    },
    "authorization-origin": {
      type: "string",
      placeholder: "origin",
      help: "accept a sign-in page at this origin, such as https://login.example.com, that differs from the authorization server",
    },
    ...serverOptions,
    endpoint: serverOptions.endpoint,
  },
  notes: [
    "It lists the requested scopes, opens the browser and waits for the redirect to this machine.",
    "If a gateway is running with the same configuration, the gateway is signed in and offers the tools at once.",
    "With --create-vault-key, the tokens are stored for this user; restart a gateway that keeps tokens in memory.",
    "Over SSH, paste the address of the page that the browser shows last, or use --device.",
    "To use a pre-registered client, or fixed scopes, edit wirescope/oauth.json in your configuration folder.",
    "A server uses the sign-in of --idp if its settings in that file have the grant enterprise and this identityProvider.",
  ],
  keyCreation: (values) => (values["create-vault-key"] ? "always" : "ask"),
  isChange: () => true,
  isLocal: (values) => values.idp !== undefined,
  check(values, positionals) {
    assertOneTarget("login", values.idp, positionals);
    if (values["client-id"] !== undefined && values.idp === undefined)
      throw new UsageError("--client-id requires --idp.");
    assertScopes(values.scope);
    readOrigin(values["authorization-origin"]);
  },
  async use({ admin, screen, values, positionals }) {
    const [name = values.idp ?? ""] = positionals;
    const confirmedOrigin = readOrigin(values["authorization-origin"]);
    const { createTerminalSignIn } = await import("@wirescope/tool-server/auth");
    const interruption = `The sign-in to ${name} was interrupted.`;
    if (values.idp !== undefined) {
      const { openIdentity } = await import("../tool-server/identity-provider.js");
      const creation = values["create-vault-key"] ? "always" : "ask";
      await using identity = await openIdentity(values.idp, values["client-id"], values, admin.io, creation);
      const status = await interruptible(interruption, (signal) =>
        identity.login.signIn(createTerminalSignIn(admin.io), signal),
      );
      if (values.json) screen.print(formatJson(jsonOf(status)));
      else screen.print(printableText(identityText(status)));
      return 0;
    }
    const { oauth, connect } = await interruptible(interruption, (signal) =>
      admin.signIn(name, {
        person: createTerminalSignIn({ ...admin.io, confirmedOrigin }),
        isByDevice: values.device,
        scopes: values.scope,
        confirmedOrigin,
        signal,
      }),
    );
    const { account, issuer, scopes = [] } = oauth ?? {};
    if (!values.json) {
      const who = account === undefined ? "" : ` as ${account}`;
      const subject = admin.gateway === undefined ? "Signed in" : `The gateway at ${admin.gateway} is signed in`;
      screen.print(printableText(`${subject} to ${name}${who} with ${issuer ?? "its authorization server"}.`));
      if (scopes.length > 0) screen.print(printableText(`Scopes: ${scopes.join(", ")}.`));
    }
    const serverInfo = await connect();
    if (values.json) screen.print(formatJson(jsonOf({ server: name, ...oauth, serverInfo, gateway: admin.gateway })));
    else
      screen.print(
        printableText(
          `Connected to ${name}: ${serverInfo.name || "unnamed server"} ${serverInfo.version ?? ""}`.trim(),
        ),
      );
    return 0;
  },
});

function identityText({ issuer, account, expiresAt, isRenewable }: IdentityStatus): string {
  const who = account === undefined ? "" : ` as ${account}`;
  const until = new Date(expiresAt).toISOString();
  return `Signed in to ${issuer}${who}. ${isRenewable ? "It is renewed automatically." : `It expires at ${until}: the identity provider gave no refresh token.`}`;
}

/** Throws a UsageError unless there is either a server or an identity provider. */
function assertOneTarget(command: string, idp: string | undefined, positionals: readonly string[]): void {
  if ((idp === undefined) === (positionals.length === 0)) {
    throw new UsageError(`${command} requires <server|url>, or --idp <issuer>.`);
  }
}

function readOrigin(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const origin = parseUrl(text)?.origin ?? "null";
  if (origin === "null")
    throw new UsageError("--authorization-origin requires an origin such as https://login.example.com.");
  return origin;
}

/** Signs out of a server. */
export const logoutCommand: Command = defineAdminCommand({
  name: "logout",
  summary: "sign out: revoke and delete the tokens",
  parameters: ["[server|url]"],
  serverAt: 0,
  options: {
    all: { type: "boolean", help: "delete the tokens of the server for other urls and tenants too" },
    idp: { type: "string", placeholder: "issuer", help: "delete the tokens of this identity provider" },
    ...serverOptions,
    endpoint: serverOptions.endpoint,
  },
  notes: [
    "If a gateway is running with the same configuration, the gateway is signed out and removes the tools at once.",
  ],
  isChange: () => true,
  isLocal: (values) => values.idp !== undefined,
  check: (values, positionals) => assertOneTarget("logout", values.idp, positionals),
  async use({ admin, screen, values, positionals }) {
    const [name = ""] = positionals;
    if (values.idp !== undefined) {
      const { openIdentity } = await import("../tool-server/identity-provider.js");
      await using identity = await openIdentity(values.idp, undefined, values, admin.io, "never");
      const isDeleted = await identity.login.signOut();
      if (values.json) screen.print(formatJson(jsonOf({ issuer: values.idp, isDeleted })));
      else
        screen.print(
          printableText(
            isDeleted ? `Deleted the tokens issued by ${values.idp}.` : `You were not signed in to ${values.idp}.`,
          ),
        );
      return 0;
    }
    const report = await admin.signOut(name, { isEverywhere: values.all });
    if (values.json) screen.print(formatJson(jsonOf(report)));
    else for (const line of linesOf(report)) screen.print(printableText(line));
    const hasFailed = report.wiped.some(
      ({ refreshToken, accessToken }) => refreshToken?.kind === "failed" || accessToken.kind === "failed",
    );
    return hasFailed || report.problems.length > 0 ? 1 : 0;
  },
});

function linesOf({ server, wiped, problems, remaining }: SignOutReport): string[] {
  const lines = wiped.length === 0 ? [`You were not signed in to ${server}.`] : [];
  for (const { issuer, refreshToken, accessToken } of wiped) {
    lines.push(`Deleted the tokens issued by ${issuer}.`);
    if (refreshToken !== undefined) lines.push(`  refresh token: ${revocationText(refreshToken)}`);
    lines.push(`  access token: ${revocationText(accessToken)}`);
  }
  for (const { url, tenant } of remaining) {
    const whose = tenant === "" ? url : `${url} with ${tenant}`;
    lines.push(`The tokens of ${server} for ${whose} remain.`);
  }
  if (remaining.length > 0) lines.push("Run this command again with --all to delete them.");
  return [...lines, ...problems];
}

function revocationText(result: WipedTokens["accessToken"]): string {
  switch (result.kind) {
    case "revoked":
      return "revoked";
    case "unsupported":
      return "not revoked: the authorization server does not support it; the token is valid until it expires";
    case "failed":
      return `not revoked: ${result.reason}`;
  }
}

/** Throws a UsageError if a scope is invalid. */
function assertScopes(scopes: readonly string[]): void {
  for (const scope of scopes) {
    if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) throw new UsageError(`--scope "${scope}" is not a valid scope.`);
  }
}

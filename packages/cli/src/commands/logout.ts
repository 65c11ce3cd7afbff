import { printableText } from "@wirescope/channelz/internal";
import type { SignOutReport, WipedTokens } from "@wirescope/tool-server/auth";
import { formatJson } from "../output/json.js";
import { jsonOf } from "../tool-server/json-of.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

/** Signs out of a server. */
export const logoutCommand: Command = defineAdminCommand({
  name: "logout",
  summary: "sign out: revoke and delete the tokens, then check that the server rejects the old one",
  parameters: ["<server>"],
  options: { ...serverOptions, ...adminOptions },
  notes: [
    "If a gateway is running with the same configuration, the gateway is signed out and removes the tools at once.",
  ],
  isChange: () => true,
  async use({ admin, screen, values, positionals }) {
    const [name = ""] = positionals;
    const report = await admin.signOut(name);
    if (values.json) screen.print(formatJson(jsonOf(report)));
    else for (const line of linesOf(report)) screen.print(printableText(line));
    return report.problems.length > 0 || report.proof.kind === "accepted" ? 1 : 0;
  },
});

function linesOf({ server, wiped, proof, problems }: SignOutReport): string[] {
  const lines = wiped.length === 0 ? [`You were not signed in to ${server}.`] : [];
  for (const { issuer, refreshToken, accessToken } of wiped) {
    lines.push(`Deleted the tokens issued by ${issuer}.`);
    if (refreshToken !== undefined) lines.push(`  refresh token: ${revocationText(refreshToken)}`);
    lines.push(`  access token: ${revocationText(accessToken)}`);
  }
  switch (proof.kind) {
    case "refused":
      lines.push(`Tried the old token again: ${server} rejects it (${proof.status}).`);
      break;
    case "accepted": {
      const until = proof.until === undefined ? "" : ` until ${new Date(proof.until).toISOString()}`;
      lines.push(`Tried the old token again: ${server} still accepts it${until}. Anyone who has it can use it.`);
      break;
    }
    case "unclear":
      lines.push(`Could not check whether the old token is rejected: ${proof.reason}`);
      break;
    case "nothing":
      break;
  }
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

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
  summary: "sign out: revoke the tokens, wipe them, and prove that the old one is refused",
  parameters: ["<server>"],
  options: { ...serverOptions, ...adminOptions },
  notes: [
    "Where a gateway runs with the same configuration, it is signed out, and its clients lose the tools at once.",
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
  const lines = wiped.length === 0 ? [`Nobody was signed in to ${server}.`] : [];
  for (const { issuer, refreshToken, accessToken } of wiped) {
    lines.push(`The tokens of ${issuer} are wiped here.`);
    if (refreshToken !== undefined) lines.push(`  refresh token: ${revocationText(refreshToken)}`);
    lines.push(`  access token: ${revocationText(accessToken)}`);
  }
  switch (proof.kind) {
    case "refused":
      lines.push(`The old token was tried once more: ${server} refuses it (${proof.status}).`);
      break;
    case "accepted": {
      const until = proof.until === undefined ? "" : ` until ${new Date(proof.until).toISOString()}`;
      lines.push(
        `The old token was tried once more, and ${server} still accepts it${until}. Whoever has it can use it.`,
      );
      break;
    }
    case "unclear":
      lines.push(`Whether the old token is refused could not be seen: ${proof.reason}`);
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
      return "the authorization server revokes none; it ends when it expires";
    case "failed":
      return `not revoked: ${result.reason}`;
  }
}

import { printableText } from "@wirescope/channelz/internal";
import type { OAuthStep, OAuthStepFields } from "@wirescope/tool-server/auth";
import { causeTable } from "@wirescope/tool-server/why";
import type { Screen } from "../output/screen.js";
import { wrap } from "../output/text-layout.js";
import type { OAuthFlowResult } from "./oauth-flow.js";
import { markOf, renderFix } from "./render-explanation.js";

/** The lines of a step: its name and outcome, then what was sent (→) and received (←). */
export function renderOAuthStep(step: OAuthStep, number: number, screen: Screen): string[] {
  const { palette, width } = screen;
  const { name, outcome, method, url, status, durationMs, isPlanned, failure } = step;
  const facts = [
    ...(isPlanned ? ["not sent"] : []),
    ...(status === undefined ? [] : [String(status)]),
    ...(durationMs === undefined ? [] : [`${durationMs} ms`]),
  ];
  const address = [method, url].filter((part) => part !== undefined).join(" ");
  return [
    `${markOf(outcome, palette)} ${number}. ${palette.strong(name)}${facts.length === 0 ? "" : ` ${palette.faint(`(${facts.join(", ")})`)}`}`,
    ...(address === "" ? [] : wrap(printableText(address), width, "     ")),
    ...fieldLines("→", step.sent, screen),
    ...fieldLines("←", step.received, screen),
    ...(failure === undefined ? [] : wrap(printableText(failure), width, "     ")),
  ];
}

function fieldLines(arrow: string, fields: OAuthStepFields = {}, { palette, width }: Screen): string[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    wrap(printableText(`${arrow} ${name}: ${value}`), width, "     ").map(palette.faint),
  );
}

/** The lines after the last step. */
export function renderOAuthResult(result: OAuthFlowResult, server: string, lastStep: number, screen: Screen): string[] {
  const { palette, width } = screen;
  const name = printableText(server);
  switch (result.kind) {
    case "signed-in":
      return [
        "",
        `${palette.good("✓")} Signed in to ${palette.strong(name)}. ${result.isStored ? "The new sign-in is stored." : "It is not stored, because the vault is in memory."}`,
      ];
    case "stopped":
      return ["", "Stopped before the sign-in. Nothing was registered, and a stored sign-in was not changed."];
    case "failed": {
      const { error, cause } = result;
      const title = cause === undefined ? "" : ` ${causeTable[cause.code]} (${cause.code})`;
      return [
        "",
        `${palette.bad("✗")} ${lastStep === 0 ? "The flow failed." : `The flow failed after step ${lastStep}.`}${title}`,
        "",
        ...wrap(printableText(cause?.problem ?? error.message), width, "  "),
        ...(cause?.evidence ?? []).flatMap((line) => wrap(printableText(line), width, "    ").map(palette.faint)),
        ...(cause === undefined ? [] : ["", ...renderFix(cause.fix, screen)]),
        "",
        "A stored sign-in was not changed.",
      ];
    }
  }
}

import type { ServerStatus } from "@wirescope/gateway";
import { statusText as textOf } from "@wirescope/gateway/internal/status-text";
import type { Paint, Palette } from "./screen.js";

interface Status extends Pick<ServerStatus, "state"> {
  readonly failure?: Pick<NonNullable<ServerStatus["failure"]>, "code" | "error"> | undefined;
}

/** The status of a server in a few words: connected, or why not. */
export function statusText({ state, failure }: Status): string {
  return textOf(state, failure?.error ?? failure);
}

/** The colour of that status. */
export function statusPaint({ state, failure }: Status, palette: Palette): Paint {
  if (state === "READY" && failure === undefined) return palette.good;
  return state === "TRANSIENT_FAILURE" || failure !== undefined ? palette.bad : palette.plain;
}

import type { LoggedRequest } from "../logged-request.js";
import type { QuirkyPlace } from "../start-quirks.js";

/** Parameters whose values are shown; of all others only the name is. */
const shown = ["grant_type", "scope", "resource", "response_type", "redirect_uri", "token_type_hint"];

/** One line on a request: what came where, and what it carried. Without secrets. */
export function requestLine(place: QuirkyPlace, request: LoggedRequest): string {
  const { method, path, query, form, json, headers } = request;
  const parameters = [...query, ...form].map(([name, value]) => (shown.includes(name) ? `${name}=${value}` : name));
  const credential = headers.authorization?.split(" ", 1)[0];
  const said = typeof json.method === "string" ? json.method : undefined;
  const carried = [said, credential && `Authorization: ${credential} …`, ...parameters].filter(Boolean).join(", ");
  return printable(`${place}: ${method} ${path}${carried === "" ? "" : `  ${carried}`}`);
}

function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a client may send them, and a terminal would act on them.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?").slice(0, 500);
}

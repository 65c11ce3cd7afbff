import { gatewayClient } from "./gateway-client.js";
import { objectOf } from "./mcp-client.js";

const maxLength = 8 * 1024 * 1024;

/** The document of an app. Rejects if the resource is no HTML, or too large. */
export async function readApp(uri: string, signal: AbortSignal): Promise<string> {
  const { contents } = await gatewayClient.request("resources/read", { uri }, { signal });
  const { text, blob, mimeType } = objectOf(Array.isArray(contents) ? contents[0] : undefined);
  if (typeof mimeType !== "string" || !mimeType.startsWith("text/html")) {
    throw new Error(`The app cannot be shown: ${uri} is no HTML document.`);
  }
  const html = typeof text === "string" ? text : typeof blob === "string" ? decodeBase64(blob) : "";
  if (html.length > maxLength) throw new Error(`The app cannot be shown: ${uri} is too large.`);
  return html;
}

function decodeBase64(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
}

import { ToolServerError } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import { parseUrl } from "../../url.js";
import type { NetworkContext } from "./transport.js";

/**
 * Where messages are posted to, as the `endpoint` event says. Throws REDIRECT_REFUSED where that is another origin, to which
 * the headers of the credential would go; NOT_A_TOOL_SERVER where it is no url.
 */
export function parseEndpoint({ server, url, secrets }: NetworkContext, text: string): URL {
  const subject = `The server ${JSON.stringify(server)} (${url.origin})`;
  const endpoint = parseUrl(text, url);
  if (endpoint === undefined) {
    const problem = `${subject} wants messages to be posted to what is not a url.`;
    throw new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice: "Look into the server." });
  }
  if (endpoint.origin !== url.origin || endpoint.username !== "" || endpoint.password !== "") {
    const origin = endpoint.origin === "null" ? endpoint.protocol : endpoint.origin;
    const where = origin === url.origin ? "a url with a user in it" : printableText(secrets.redact(origin), 200);
    const problem = `${subject} wants messages to be posted to ${where}, where its headers must not go.`;
    const advice =
      "Write the url of the server itself into the configuration, or correct the address that the server gives.";
    throw new ToolServerError("REDIRECT_REFUSED", { problem, advice });
  }
  return endpoint;
}

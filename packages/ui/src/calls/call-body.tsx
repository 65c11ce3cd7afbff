import { printableText } from "@wirescope/channelz/internal/text";
import type { CallBody as Body } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { ActionButton, Copy, Section } from "../design/index.js";
import { Link } from "../shell/routing/index.js";
import { type CallDetail, readCall } from "../shell/store/index.js";
import { capturedCallOf, commandOf, isRedacted } from "./call-command.js";
import { jsonLinesOf, saveFile } from "./export-calls.js";

/** Beyond this, a link would be too long for a browser or a server. */
const maxLinkLength = 8000;

/** The captured arguments and result, with actions to copy, export or run them again. */
export function CallBody({ call, body }: { readonly call: CallDetail; readonly body: Body }): VNode {
  const captured = capturedCallOf(call, body);
  const given = captured?.arguments ?? body.request;
  const link =
    captured &&
    `/tools/${encodeURIComponent(captured.server)}/${encodeURIComponent(captured.tool)}?arguments=${encodeURIComponent(captured.arguments)}`;
  return (
    <>
      <Section
        title="Arguments"
        actions={
          <>
            {link !== undefined && link.length <= maxLinkLength && <Link to={link}>Open in Tools</Link>}
            <ActionButton
              isSmall
              run={async () => saveFile(`call-${call.id}.jsonl`, await jsonLinesOf([call], readCall))}
            >
              Export
            </ActionButton>
            <Copy text={readable(given)} what="arguments" />
          </>
        }
      >
        <JsonText text={given} isTruncated={body.requestTruncated} label="Arguments as JSON" />
        {captured !== undefined && (
          <div class="call-command">
            <Copy text={commandOf(captured)} what="command" isShown />
            {isRedacted(captured) && <p class="soft">Replace [redacted] before you run it.</p>}
          </div>
        )}
        {given !== body.request && (
          <details class="call-more">
            <summary>Whole request</summary>
            <JsonText text={body.request} isTruncated={body.requestTruncated} label="Request as JSON" />
          </details>
        )}
      </Section>
      <Section title="Result" actions={<Copy text={readable(body.response)} what="result" />}>
        {body.response === "" ? (
          <p class="soft">The call has no result yet.</p>
        ) : (
          <JsonText text={body.response} isTruncated={body.responseTruncated} label="Result as JSON" />
        )}
      </Section>
    </>
  );
}

interface JsonTextProps {
  readonly text: string;
  readonly isTruncated: boolean;
  readonly label: string;
}

function JsonText({ text, isTruncated, label }: JsonTextProps): VNode {
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it. */}
      <section class="call-body" tabIndex={0} aria-label={label}>
        <pre>
          {readable(text)
            .split("\n")
            .map((line) => printableText(line))
            .join("\n")}
        </pre>
      </section>
      {isTruncated && <p class="soft">It is too large, so parts of it were omitted.</p>}
    </>
  );
}

/** JSON with one member on each line. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

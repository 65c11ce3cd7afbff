import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Button, Copy } from "../design/index.js";
import { visibleLine, visibleText } from "../design/visible-text.js";
import { type Offer, objectOf } from "../shell/mcp/index.js";

const shortLength = 600;
const maxLength = 20_000;

/** The name, server and description of an offer. */
export function OfferHeader({ offer }: { readonly offer: Offer }): VNode {
  const { name, key, server, title, description } = offer;
  const [isWhole, setWhole] = useState(false);
  const isLong = description.length > shortLength;
  const text = visibleText(description.slice(0, isWhole ? maxLength : shortLength).trim());
  return (
    <header class="offer-header">
      <h1>{visibleLine(title ?? name)}</h1>
      <p class="offer-names">
        <span>{visibleLine(server)}</span>
        <code>{visibleLine(key, 400)}</code>
        <Copy text={key} what="name" />
        {hintsOf(offer).map((hint) => (
          <span key={hint} class="offer-hint">
            {hint}
          </span>
        ))}
      </p>
      {text !== "" && (
        <p class="offer-description">
          {text}
          {isLong && !isWhole && "… "}
          {isLong && (
            <Button kind="quiet" isSmall onClick={() => setWhole(!isWhole)}>
              {isWhole ? "Show less" : "Show all"}
            </Button>
          )}
        </p>
      )}
    </header>
  );
}

/** The server's hints about a tool. They are unverified, so they are only shown. */
function hintsOf({ kind, definition }: Offer): readonly string[] {
  if (kind === "template") return ["template"];
  if (typeof definition.mimeType === "string") return [visibleLine(definition.mimeType, 60)];
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = objectOf(definition.annotations);
  const { visibility } = objectOf(objectOf(definition._meta).ui);
  const isForApps = Array.isArray(visibility) && !visibility.includes("model");
  return [
    readOnlyHint === true && "read-only",
    destructiveHint === true && readOnlyHint !== true && "destructive",
    idempotentHint === true && "idempotent",
    openWorldHint === true && "accesses external systems",
    isForApps && "for apps only",
  ].filter((hint) => hint !== false);
}

import { corrections as knownCorrections } from "@wirescope/channelz/corrected";
import { printableText } from "@wirescope/channelz/internal/text";
import type { SnapshotObject } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { Section } from "../design/index.js";

/** A long trace may have many unset times, and a recording may contain anything. */
const maxShown = 20;

/** Which values of the object were corrected, why, and what the process sent. */
export function CorrectionSection({ object }: { readonly object: SnapshotObject }): VNode | null {
  const applied = object.corrections ?? [];
  if (applied.length === 0) return null;
  const shown = applied.slice(0, maxShown);
  return (
    <Section title="Corrected values">
      {[...new Set(shown.map(({ id }) => id))].map((id) => {
        const known = knownCorrections.find((each) => each.id === id);
        return (
          <div key={id} class="correction">
            <h3>{known === undefined ? printableText(id, 80) : `${known.title}.`}</h3>
            <ul>
              {shown
                .filter((each) => each.id === id)
                .map(({ detail }, index) => (
                  <li key={index}>The process sent: {printableText(detail, 500)}.</li>
                ))}
            </ul>
            {known !== undefined && (
              <p class="soft">
                Evidence: {known.evidence}. Known from {known.peers}.
              </p>
            )}
          </div>
        );
      })}
      {applied.length > maxShown && <p class="soft">{applied.length - maxShown} more are not shown.</p>}
    </Section>
  );
}

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../design/index.js";
import { type Offer, resourceUpdates, runs, setSubscribed, startRun, subscribedResources } from "../shell/mcp/index.js";
import { CompletedField } from "./completed-field.js";
import { OfferHeader } from "./offer-header.js";
import { RunView } from "./run-view.js";
import { expandTemplate, templateVariables } from "./uri-template.js";

/** A resource that a result links to and no list has. */
export function unlistedResource(uri: string): Offer {
  return { kind: "resource", key: uri, server: "", name: uri, title: undefined, description: "", definition: {} };
}

/** A resource or a template: reads it, and subscribes to its updates. */
export function ResourceDetail({ offer }: { readonly offer: Offer }): VNode {
  const [shownId, setShownId] = useState<number>();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const isTemplate = offer.kind === "template";
  const variables = isTemplate ? templateVariables(offer.key) : [];
  const uri = isTemplate ? expandTemplate(offer.key, values) : offer.key;
  const updateId = useRef<number | undefined>(undefined);
  const read = (): number => {
    const id = startRun(offer, "resources/read", { uri });
    setShownId(id);
    return id;
  };
  const own = runs.value.filter((run) => run.offer.key === offer.key && run.offer.kind === offer.kind);
  const chosen = own.find(({ id }) => id === shownId) ?? own[0];
  // While an update is read, the previous content stays, so that nothing flickers.
  const isUpdating = chosen?.status === "running" && updateId.current === chosen.id;
  const shown =
    (isUpdating ? own.find(({ status, params }) => status === "done" && params.uri === uri) : undefined) ?? chosen;
  const isSubscribed = subscribedResources.value.includes(uri);
  const count = resourceUpdates.value.get(uri) ?? 0;
  // A subscribed resource is read again when it changes.
  useEffect(() => {
    if (isSubscribed && count > 0) updateId.current = read();
  }, [count]);
  return (
    <article class="detail">
      <OfferHeader offer={offer} />
      <form
        class="detail-form"
        onSubmit={(event) => {
          event.preventDefault();
          read();
        }}
      >
        {variables.map((name) => (
          <CompletedField
            key={name}
            name={name}
            value={values[name] ?? ""}
            reference={{ type: "ref/resource", uri: offer.key }}
            others={values}
            onInput={(value) => setValues({ ...values, [name]: value })}
          />
        ))}
        {isTemplate && (
          <p class="soft">
            Reads <code>{uri}</code>
          </p>
        )}
        <div class="detail-actions">
          <Button kind="primary" type="submit" needsServer>
            Read
          </Button>
          <Button isPressed={isSubscribed} onClick={() => setSubscribed(uri, !isSubscribed)}>
            {isSubscribed ? "Subscribed" : "Subscribe"}
          </Button>
          {isSubscribed && (
            <span class="soft" role="status">
              {count === 0 ? "Waiting for updates" : `Updated ${count === 1 ? "once" : `${count} times`}`}
            </span>
          )}
        </div>
      </form>
      {shown !== undefined && <RunView run={shown} runs={own} onShow={setShownId} />}
    </article>
  );
}

import type { ComponentType, VNode } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { Button, Empty, ErrorNote, Loading, visibleLine } from "../design/index.js";
import { Link, type ViewProps } from "./routing/index.js";
import { findView, type ViewDefinition } from "./views.js";

const loaded = new Map<ViewDefinition, ComponentType<ViewProps>>();

/** Shows the view of an address: loads its code first, and contains its errors. */
export function ViewHost({ url, isPanel }: { readonly url: string; readonly isPanel: boolean }): VNode {
  const found = findView(url);
  const [, setCount] = useState(0);
  const [loadError, setLoadError] = useState<unknown>();
  const [renderError, resetError] = useErrorBoundary();
  const view = found?.view;
  useEffect(() => {
    setLoadError(undefined);
    if (view === undefined || loaded.has(view)) return;
    view.load().then((component) => {
      loaded.set(view, component);
      setCount((count) => count + 1);
    }, setLoadError);
  }, [view]);
  const title = found === undefined ? "" : `${[found.view.title, ...Object.values(found.params)].join(" ")} · `;
  useEffect(() => {
    if (!isPanel) document.title = visibleLine(`${title}Wirescope`);
  }, [title, isPanel]);

  if (found === undefined || view === undefined) {
    return (
      <Empty title="This page does not exist.">
        <Link to="/">Open the overview</Link>
      </Empty>
    );
  }
  if (renderError !== undefined) {
    return (
      <div class="view-error">
        <ErrorNote error={renderError} />
        <Button onClick={resetError}>Show the view again</Button>
      </div>
    );
  }
  if (loadError !== undefined) {
    return (
      <div class="view-error">
        <ErrorNote error="This view could not be loaded. The server may have been updated." />
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </div>
    );
  }
  const View = loaded.get(view);
  if (View === undefined) return <Loading what={view.title.toLowerCase()} />;
  return <View path={found.path} params={found.params} query={found.query} isPanel={isPanel} />;
}

import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

/** The width of an element's content, as it is and as it becomes; 0 before it is known. */
export function useElementWidth<TElement extends HTMLElement>(): [RefObject<TElement | null>, number] {
  const element = useRef<TElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const observed = element.current
    if (observed === null) return
    setWidth(Math.floor(observed.clientWidth))
    const observer = new ResizeObserver(() => setWidth(Math.floor(observed.clientWidth)))
    observer.observe(observed)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}

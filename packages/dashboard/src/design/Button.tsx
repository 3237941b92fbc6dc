import type { ComponentProps, ReactNode } from 'react'
import styles from './Button.module.css'
import { classNames } from './class-names.ts'
import { Icon, type IconName } from './Icon.tsx'

interface ButtonOptions {
  /** `primary` for the one thing that a person most likely came for, `danger` for what cannot be taken back. */
  readonly kind?: 'primary' | 'secondary' | 'quiet' | 'danger'
  readonly size?: 'small' | 'medium'
  readonly icon?: IconName
  /** Under way: it cannot be pressed again, and says so. */
  readonly isBusy?: boolean
  readonly children?: ReactNode
}

export type ButtonProps = ButtonOptions & Omit<ComponentProps<'button'>, keyof ButtonOptions>

export function Button(props: ButtonProps) {
  const { kind = 'secondary', size = 'medium', icon, isBusy = false, children, className, onClick, ...rest } = props
  return (
    <button
      type="button"
      {...rest}
      // Not `disabled`: that would take the focus away from whoever has just pressed it.
      aria-disabled={isBusy || rest['aria-disabled']}
      aria-busy={isBusy}
      onClick={isBusy ? (event) => event.preventDefault() : onClick}
      className={buttonClass({ kind, size, className })}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button with nothing but an icon; `label` is what it does. */
export function IconButton({
  label,
  ...rest
}: Omit<ButtonProps, 'children'> & { readonly icon: IconName; readonly label: string }) {
  return (
    <Button
      kind="quiet"
      {...rest}
      aria-label={label}
      title={label}
      className={classNames(styles.square, rest.className)}
    />
  )
}

/** The look of a button, for a link that is one. */
export function buttonClass(
  options: Pick<ButtonOptions, 'kind' | 'size'> & { readonly className?: string | undefined } = {},
): string {
  const { kind = 'secondary', size = 'medium', className } = options
  return classNames(styles.button, styles[kind], styles[size], className)
}
